# SPDX-License-Identifier: Apache-2.0
# packaging - what model files ask of it: whether a version is new enough.
