package contain

import (
	"errors"
	"fmt"
	"reflect"
)

// ConfigCheck collects the faults of one Config.
type ConfigCheck struct {
	fault func(what string) error
	errs  []error
}

// CheckConfig begins the check of a Config, by the name that its faults begin with: "gc: PodsConfig".
func CheckConfig(config string) *ConfigCheck {
	return &ConfigCheck{fault: func(what string) error { return errors.New(config + "." + what) }}
}

// CheckConfigAs begins the check of a Config whose faults all wrap one error.
func CheckConfigAs(kind error) *ConfigCheck {
	return &ConfigCheck{fault: func(what string) error { return fmt.Errorf("%w: %s", kind, what) }}
}

// FaultIf notes what is wrong, beginning with a field's name, if it is.
func (c *ConfigCheck) FaultIf(wrong bool, what string) {
	if wrong {
		c.errs = append(c.errs, c.fault(what))
	}
}

// MissingIf notes a field that has no default and is not set.
func (c *ConfigCheck) MissingIf(missing bool, field string) { c.FaultIf(missing, field+" is missing") }

// AddError notes an error in the words of the caller. Nil is none.
func (c *ConfigCheck) AddError(err error) { c.errs = append(c.errs, err) }

// Err is all faults, each on a line of its own, or nil.
func (c *ConfigCheck) Err() error { return errors.Join(c.errs...) }

// DefaultNumber sets a number that is zero to its default. A negative one is a fault.
func DefaultNumber[T ~int | ~int64](c *ConfigCheck, name string, field *T, usual T) {
	c.FaultIf(*field < 0, name+" is negative")
	SetDefault(field, usual)
}

// SetDefault sets a field that has its zero value to its default.
func SetDefault[T any](field *T, usual T) {
	if reflect.ValueOf(field).Elem().IsZero() {
		*field = usual
	}
}
