package core

// keep keeps B-001 and I7, and B-003 to B-004.
func keep() {}

// UTF-8, KEP-4781 and v1-2 are no ids.
