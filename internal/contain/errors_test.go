package contain_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/podkeel/podkeel/internal/contain"
)

// TestAsType finds an error of a type at any depth, in any kind of wrapper.
func TestAsType(t *testing.T) {
	other, path := errors.New("other"), &fs.PathError{Op: "open", Path: "/x", Err: fs.ErrNotExist}
	for name, err := range map[string]error{
		"itself":             path,
		"wrapped":            fmt.Errorf("a: %w", path),
		"joined":             errors.Join(other, path),
		"in an aggregate":    utilerrors.NewAggregate([]error{other, path}),
		"wrapped aggregate":  fmt.Errorf("a: %w", utilerrors.NewAggregate([]error{other, fmt.Errorf("b: %w", path)})),
		"aggregate of those": utilerrors.NewAggregate([]error{other, utilerrors.NewAggregate([]error{errors.Join(other, path)})}),
	} {
		found, ok := contain.AsType[*fs.PathError](err)
		assert.True(t, ok, name)
		assert.Same(t, path, found, name)
	}
	for _, err := range []error{nil, other, utilerrors.NewAggregate([]error{other}), errors.Join(other, nil)} {
		_, ok := contain.AsType[*fs.PathError](err)
		assert.False(t, ok)
	}
	asked, ok := contain.AsType[interface{ Timeout() bool }](utilerrors.NewAggregate([]error{path}))
	assert.True(t, ok, "an interface is found too")
	assert.False(t, asked.Timeout())
}

func TestErrorParts(t *testing.T) {
	a, b := errors.New("a"), errors.New("b")
	assert.Equal(t, []error{a, b}, contain.ErrorParts(errors.Join(a, nil, b)))
	assert.Equal(t, []error{a, b}, contain.ErrorParts(holed{a, nil, b, nil}))
	assert.Equal(t, []error{a}, contain.ErrorParts(fmt.Errorf("%w", a)))
	assert.Empty(t, contain.ErrorParts(a))
	assert.Empty(t, contain.ErrorParts(nil))
}

// holed is an aggregate error that may have nil elements.
type holed []error

func (h holed) Error() string   { return "holed" }
func (h holed) Errors() []error { return h }
