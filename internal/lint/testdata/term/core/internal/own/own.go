package own

// Bottle is for nobody outside.
type Bottle int
