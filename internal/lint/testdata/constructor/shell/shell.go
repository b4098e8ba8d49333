// Package shell starts before it is run.
package shell

import "house.test/internal/turn"

// Shell is one.
type Shell struct{ seam turn.Turn }

// New is impatient.
func New(t turn.Turn) *Shell {
	s := &Shell{t}
	go s.Run()
	t.Go(s.Run)
	turn.NewGroup(t).Go(s.Run)
	turn.Each(t, 0, 1, nil)
	return s
}

// NewQuiet is patient.
func NewQuiet() *Shell { return &Shell{} }

// Newton starts things, and is called that by chance.
func Newton(t turn.Turn) { t.Go(nil) }

// Run may.
func (s *Shell) Run() { go s.Run() }
