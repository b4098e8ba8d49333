package deep

// Depth is internal.
type Depth int
