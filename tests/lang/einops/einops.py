def reduce(tensor, pattern, reduction, **axes_lengths):
    raise NotImplementedError


def rearrange(tensor, pattern, **axes_lengths):
    raise NotImplementedError


def repeat(tensor, pattern, **axes_lengths):
    raise NotImplementedError


def einsum(*tensors_and_pattern):
    raise NotImplementedError


def parse_shape(x, pattern):
    raise NotImplementedError
