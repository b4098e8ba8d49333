package executor

import "errors"

// Fault is what the simulation panics with when the program in it breaks its
// rules, or when a test kit has found out that a test is wrong. It is a
// failure of the test, and no failure of the code that it happened to pass
// through: whoever contains panics raises it again, with Reraise.
type Fault struct{ Err error }

// Error is the sentence for the person who reads the test's output.
func (f *Fault) Error() string { return f.Err.Error() }

// Unwrap gives the error.
func (f *Fault) Unwrap() error { return f.Err }

// fault panics with a sentence of this package.
func fault(sentence string) { panic(&Fault{errors.New(sentence)}) }

// Reraise panics again if a value that recover returned is a Fault, or carries
// one. Everybody calls it who turns panics into errors.
func Reraise(value any) {
	err, ok := value.(error)
	if f := (*Fault)(nil); ok && errors.As(err, &f) {
		panic(panicked(value))
	}
}
