# Mentions Wide, and is not to be imported for that.
import os

print("broken was imported")
os.listdir(".")
