# SPDX-License-Identifier: Apache-2.0
# _type_info.py - torch.finfo and torch.iinfo in compiled functions, as script classes; a dtype is an int there.
class finfo:
    def __init__(self, type: int):
        eps, top, tiny, resolution, bits = 1.1920928955078125e-07, 3.4028234663852886e+38, 1.1754943508222875e-38, 1e-06, 32
        if type == 5 or type == 8:
            eps, top, tiny, resolution, bits = 0.0009765625, 65504.0, 6.103515625e-05, 0.001, 16
        elif type == 7 or type == 10:
            eps, top, tiny, resolution, bits = 2.220446049250313e-16, 1.7976931348623157e+308, 2.2250738585072014e-308, 1e-15, 64
        elif type == 15:
            eps, top, resolution, bits = 0.0078125, 3.3895313892515355e+38, 0.01, 16
        elif type != 6 and type != 9:
            raise TypeError("torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'")
        self.bits = bits
        self.eps = eps
        self.max = top
        self.min = -top
        self.tiny = tiny
        self.smallest_normal = tiny
        self.resolution = resolution


class iinfo:
    def __init__(self, type: int):
        bits, low, top = 64, -9223372036854775807 - 1, 9223372036854775807
        if type == 0:
            bits, low, top = 8, 0, 255
        elif type == 1:
            bits, low, top = 8, -128, 127
        elif type == 2:
            bits, low, top = 16, -32768, 32767
        elif type == 3:
            bits, low, top = 32, -2147483648, 2147483647
        elif type != 4:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        self.bits = bits
        self.min = low
        self.max = top
