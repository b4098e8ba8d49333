package core

// Powers are features. Nobody asks for them.
type Powers struct {
	Life   uint64 // plain words
	ending bool
}

// PokePod asks the pod.
func (p Powers) PokePod() {}

// Turnover is one word, and so is Lifecycle.
const Turnover, Lifecycle = 1, 2

// poke is not seen from outside, whoever calls it.
func poke() {}

// Wait waits.
type Wait interface {
	// Settle waits until nothing moves.
	Settle()
}
