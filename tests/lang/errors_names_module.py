import torhc  # note: imported here, and used above; --path DIR names a folder to look in
import torch

LIMIT = torhc.tensor(3)  # error: ModuleNotFoundError: No module named 'torhc' # note: did you mean 'torch'?
