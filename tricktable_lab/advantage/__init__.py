"""The study of the trump-caller's advantage: `tricktable advantage`."""
