package inprocess_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/podkeel/podkeel/syncloop/internal/inprocess"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// send sends a request to a handler.
func send(ctx context.Context, t *testing.T, body string, handler inprocess.Handler) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://memory/a?b=c", strings.NewReader(body))
	require.NoError(t, err)
	return inprocess.RoundTrip(handler, r)
}

// TestRoundTrip: the client reads the response while the handler writes it, and time passes in a bubble meanwhile.
func TestRoundTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer, err := send(t.Context(), t, "hello", func(w http.ResponseWriter, r *http.Request) error {
			text, err := io.ReadAll(r.Body)
			w.Header().Set("X-Of", r.Host+r.RequestURI)
			w.WriteHeader(http.StatusAccepted)
			w.WriteHeader(http.StatusOK) // The second call has no effect.
			time.Sleep(time.Hour)
			fmt.Fprint(w, string(text), " world")
			return err
		})
		require.NoError(t, err)
		began := time.Now()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		assert.Equal(t, []any{"hello world", 202, "memory/a?b=c", time.Hour}, []any{string(text), answer.StatusCode, answer.Header.Get("X-Of"), time.Since(began)})
	})
}

// TestRoundTrip_Errors: an error of the handler is returned by RoundTrip before the header, and by the body after it. A
// client that gives up ends the context of the handler.
func TestRoundTrip_Errors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		_, err := send(t.Context(), t, "", func(http.ResponseWriter, *http.Request) error { return broken })
		require.ErrorIs(t, err, broken)

		answer, err := send(t.Context(), t, "", func(w http.ResponseWriter, _ *http.Request) error {
			_, _ = io.WriteString(w, "half")
			return broken
		})
		require.NoError(t, err)
		text, err := io.ReadAll(answer.Body)
		require.ErrorIs(t, err, broken)
		assert.Equal(t, "half", string(text))

		untilDone := func(w http.ResponseWriter, r *http.Request) error {
			w.WriteHeader(http.StatusOK)
			<-r.Context().Done()
			return nil
		}
		answer, err = send(t.Context(), t, "", untilDone)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())

		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, broken)
		defer cancel()
		_, err = send(ctx, t, "", func(_ http.ResponseWriter, r *http.Request) error {
			<-r.Context().Done()
			return nil
		})
		require.ErrorIs(t, err, broken)
	})
}
