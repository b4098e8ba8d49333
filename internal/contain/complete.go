package contain

import (
	"errors"
	"fmt"
	"reflect"
)

// Completion collects the faults of one Config.
type Completion struct {
	fault func(what string) error
	errs  []error
}

// Complete begins the check of a Config, by the name that its faults begin with: "gc: PodsConfig".
func Complete(config string) *Completion {
	return &Completion{fault: func(what string) error { return errors.New(config + "." + what) }}
}

// CompleteAs begins the check of a Config whose faults all wrap one error.
func CompleteAs(kind error) *Completion {
	return &Completion{fault: func(what string) error { return fmt.Errorf("%w: %s", kind, what) }}
}

// Fault notes what is wrong, beginning with a field's name, if it is.
func (c *Completion) Fault(wrong bool, what string) {
	if wrong {
		c.errs = append(c.errs, c.fault(what))
	}
}

// Missing notes a field that has no default and is not set.
func (c *Completion) Missing(missing bool, field string) { c.Fault(missing, field+" is missing") }

// Add notes an error in the words of the caller. Nil is none.
func (c *Completion) Add(err error) { c.errs = append(c.errs, err) }

// Err is all faults, each on a line of its own, or nil.
func (c *Completion) Err() error { return errors.Join(c.errs...) }

// Number sets a number that is zero to its default. A negative one is a fault.
func Number[T ~int | ~int64](c *Completion, name string, field *T, usual T) {
	c.Fault(*field < 0, name+" is negative")
	Unset(field, usual)
}

// Unset sets a field that has its zero value to its default.
func Unset[T any](field *T, usual T) {
	if reflect.ValueOf(field).Elem().IsZero() {
		*field = usual
	}
}
