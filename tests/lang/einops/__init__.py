"""Stands for the package: compiled code needs no more of it than that the functions are there."""
from .einops import einsum, parse_shape, rearrange, reduce, repeat
from .packing import pack, unpack
