package shell

// A Shell does not begin with its name.
type Shell struct{ Field int }

type Bare struct{}

// Runner says what it is.
type Runner interface {
	// Run says what it does.
	Run()
	Stop()
	hidden()
	error
}

// One is documented.
const One = 1

// These are a group.
const (
	// Two says what it is.
	Two   = 2
	Three = 3
	Four  = 4 // Four says so at the end of its line.
	five  = 5
)

var Six = 6

// Seventh is another word than Seven.
func Seven() {}

// Eight is documented.
func (*Shell) Eight() {}

func (s Shell) Nine() {}

func (hidden) Ten() {}

type hidden struct{}

// List is generic.
type List[T any] struct{}

func (l *List[T]) Add(T) {}
