# SPDX-License-Identifier: Apache-2.0
from .planner import DefaultLoadPlanner, DefaultSavePlanner
