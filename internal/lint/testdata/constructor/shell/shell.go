// Package shell starts before it is run.
package shell

import "module.test/internal/executor"

// Shell is one.
type Shell struct{ seam executor.Executor }

// New is impatient.
func New(t executor.Executor) *Shell {
	s := &Shell{t}
	go s.Run()
	t.Go(s.Run)
	executor.NewGroup(t).Go(s.Run)
	executor.Each(t, 0, 1, nil)
	return s
}

// NewQuiet is patient.
func NewQuiet() *Shell { return &Shell{} }

// Newton starts things, and is called that by chance.
func Newton(t executor.Executor) { t.Go(nil) }

// Run may.
func (s *Shell) Run() { go s.Run() }
