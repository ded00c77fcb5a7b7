import lazy
from lazy import Wide
from lazy.models import wide

assert lazy.half(4) == 2 and wide.Wide is Wide and lazy.models.wide is wide and not hasattr(lazy, "Narrow")
model = Wide()
