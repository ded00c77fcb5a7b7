# SPDX-License-Identifier: Apache-2.0
# _twister - MT19937 (Matsumoto, Nishimura: Mersenne Twister, 1998), from which random and numpy.random draw, each in its own way.


class Twister:
    def _start(self, seed):
        """The state of a number of 32 bits."""
        x = seed & 0xffffffff
        key = [x]
        for i in range(1, 624):
            x = 1812433253 * (x ^ x >> 30) + i & 0xffffffff
            key.append(x)
        self._key, self._at = key, 624

    def _twist(self):
        key = self._key
        for i in range(624):
            y = key[i] & 0x80000000 | key[(i + 1) % 624] & 0x7fffffff
            key[i] = key[(i + 397) % 624] ^ y >> 1 ^ (0x9908b0df if y & 1 else 0)
        self._at = 0

    def _word(self):
        if self._at == 624:
            self._twist()
        y = self._key[self._at]
        self._at += 1
        y ^= y >> 11
        y ^= y << 7 & 0x9d2c5680
        y ^= y << 15 & 0xefc60000
        return y ^ y >> 18

    def _double(self):
        """53 bits, in [0, 1)."""
        return ((self._word() >> 5) * 67108864.0 + (self._word() >> 6)) / 9007199254740992.0
