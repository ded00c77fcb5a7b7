def pack(tensors, pattern):
    raise NotImplementedError


def unpack(tensor, packed_shapes, pattern):
    raise NotImplementedError
