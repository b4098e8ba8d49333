package podsync

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podmanager/podstatus"
	"github.com/podkeel/podkeel/runtime"
)

// TestMessages_EveryReason: whatever the reason, people read a sentence in the status of a
// container that waits and in events, and no names of packages or of reasons in it.
func TestMessages_EveryReason(t *testing.T) {
	found := 0
	for _, reason := range everyReason(t) {
		inner := fmt.Errorf("inmemory: volume %q: %w", "x", runtime.ErrNotFound)
		err := fmt.Errorf("podsync: %w", withWaitingReason(reason, fmt.Errorf("volumes: %w", withWaitingReason(podstatus.ReasonKillContainerError, inner))))
		shown, ok := waitingReasonOfError(err)
		require.True(t, ok)
		assert.Equal(t, string(reason), shown.Reason)
		assert.Equal(t, `volume "x": not found`, shown.Message, reason)
		event := formatPlainMessageWithoutEndColon("Error: %v", []any{err})
		assert.True(t, strings.HasSuffix(event, `: volume "x": not found`), event)
		assert.NotRegexp(t, "podsync|runtime|inmemory", event)
		found++
	}
	assert.Greater(t, found, 15)
}

// everyReason are the constants of type Reason in package podstatus.
func everyReason(t *testing.T) (all []podstatus.Reason) {
	for _, name := range []string{"../../podmanager/podstatus/reason.go", "../../podmanager/podstatus/waiting.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			if text, ok := spec.Values[0].(*ast.BasicLit); ok && strings.HasPrefix(text.Value, `"`) {
				value, err := strconv.Unquote(text.Value)
				require.NoError(t, err)
				all = append(all, podstatus.Reason(value))
			}
			return true
		})
	}
	return all
}
