"""Defects that were mended, each as a patch that puts it back: the fuzzer must find them."""
