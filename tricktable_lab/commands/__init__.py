"""The commands of `tricktable`, a module each: a frozen dataclass with a `run`.

tyro makes options and help from the fields. Heavy modules are imported by `run`: `--help` is quick.
"""
