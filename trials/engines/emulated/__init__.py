"""An emulated MI355X: a landscape of what configs do, and a server that behaves so on a virtual clock."""
