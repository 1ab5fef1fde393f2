"""What is measured. Each module yields rows; the bounds that they must keep are in them."""
