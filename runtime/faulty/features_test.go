package faulty

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Every line of the table of types is what its case says.
func TestWith_EveryCombination(t *testing.T) {
	for p := range 2 * canAnswer {
		require.Equal(t, p, featuresOf(new(base).with(p)))
	}
}
