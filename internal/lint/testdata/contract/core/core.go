package core

// Config says what can be set.
type Config struct {
	// Limit is bounded (F13).
	Limit int
	// own may cite I7.
	own int
}

// Keeper keeps.
type Keeper interface {
	// Keep is called once (B-002).
	Keep()
}

// The modes, KC-15.
const (
	One = 1
	two = 2
)

// Keep keeps.
func Keep() {} // B-003 stands in the code.

// Put holds I1.
func (Config) Put() {}

// hide holds I2.
func hide() {}
