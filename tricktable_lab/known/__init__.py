"""What the call is worth with all cards known: `tricktable calls`."""
