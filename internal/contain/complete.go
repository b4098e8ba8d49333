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

// CheckConfig starts the check of a Config. Its faults begin with the given name, such as "gc: PodsConfig".
func CheckConfig(config string) *ConfigCheck {
	return &ConfigCheck{fault: func(what string) error { return errors.New(config + "." + what) }}
}

// CheckConfigAs starts the check of a Config whose faults all wrap the error kind.
func CheckConfigAs(kind error) *ConfigCheck {
	return &ConfigCheck{fault: func(what string) error { return fmt.Errorf("%w: %s", kind, what) }}
}

// FaultIf records a fault if wrong is true. what begins with the name of the field.
func (c *ConfigCheck) FaultIf(wrong bool, what string) {
	if wrong {
		c.errs = append(c.errs, c.fault(what))
	}
}

// MissingIf records that a field without a default is not set, if missing is true.
func (c *ConfigCheck) MissingIf(missing bool, field string) { c.FaultIf(missing, field+" is missing") }

// AddError records an error. Nil is ignored.
func (c *ConfigCheck) AddError(err error) { c.errs = append(c.errs, err) }

// Err returns all faults, each on its own line, or nil.
func (c *ConfigCheck) Err() error { return errors.Join(c.errs...) }

// DefaultNumber sets a number that is zero to its default. A negative number is a fault.
func DefaultNumber[T ~int | ~int64](c *ConfigCheck, name string, field *T, fallback T) {
	c.FaultIf(*field < 0, name+" is negative")
	SetDefault(field, fallback)
}

// SetDefault sets a field that has its zero value to its default.
func SetDefault[T any](field *T, fallback T) {
	if reflect.ValueOf(field).Elem().IsZero() {
		*field = fallback
	}
}
