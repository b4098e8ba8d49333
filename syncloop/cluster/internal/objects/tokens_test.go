package objects_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podkeel/podkeel/internal/executor"
	"github.com/podkeel/podkeel/runtime"
	"github.com/podkeel/podkeel/syncloop/cluster/internal/objects"
)

// issuer issues numbered tokens after 100 ms.
type issuer struct {
	*executor.Scheduler
	process *executor.Process
	source  *objects.Tokens
	asked   []string
	changed []string
	err     error
	jitter  float64
	empty   bool          // grants nothing
	skew    time.Duration // of the server's clock
}

func newIssuer(t *testing.T) *issuer {
	i := &issuer{Scheduler: executor.NewScheduler(1, start)}
	i.process = i.NewProcess()
	source, err := objects.NewTokens(objects.TokensConfig{
		Tokens: i, Clock: i.process.Clock(), Jitter: func() float64 { return i.jitter },
		Changed: func(uid types.UID) { i.changed = append(i.changed, fmt.Sprint(uid, " after ", i.Now().Sub(start))) },
	})
	require.NoError(t, err)
	i.source = source
	return i
}

func (i *issuer) CreateToken(ctx context.Context, namespace, account string, r *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
	if err := executor.Over(i.process.Clock()).Sleep(ctx, 100*time.Millisecond); err != nil {
		return nil, err
	}
	i.asked = append(i.asked, fmt.Sprint(namespace, "/", account, " ", r.Spec.Audiences, " ", r.Spec.BoundObjectRef.Kind, " ", r.Spec.BoundObjectRef.UID))
	if i.err != nil {
		return nil, i.err
	}
	if i.empty {
		return r, nil
	}
	r.Status.Token = fmt.Sprint("token-", len(i.asked))
	r.Status.ExpirationTimestamp = metav1.NewTime(i.Now().Add(i.skew).Add(time.Duration(*r.Spec.ExpirationSeconds) * time.Second))
	return r, nil
}

var pod = &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "u"}, Spec: v1.PodSpec{ServiceAccountName: "default"}}

// get asks for a token at a time.
func (i *issuer) get(at time.Duration, audience string, seconds int64) string {
	i.RunUntil(start.Add(at))
	answer := ""
	i.process.Go(func() {
		token, err := i.source.Token(context.Background(), pod, audience, seconds)
		answer = fmt.Sprint(token, " ", err)
	})
	i.RunUntil(start.Add(at + time.Second))
	return answer
}

// VC-16, VC-17: a token is bound to its pod, and replaced after four fifths of its time.
func TestToken_VC16_VC17_ReplacedInTime(t *testing.T) {
	i := newIssuer(t)
	require.Equal(t, "token-1 <nil>", i.get(0, "", 1000))
	require.Equal(t, "token-1 <nil>", i.get(799*time.Second, "", 1000))
	require.Equal(t, "token-2 <nil>", i.get(801*time.Second, "", 1000))
	require.Equal(t, "token-3 <nil>", i.get(802*time.Second, "vault", 1000))
	require.Equal(t, []string{"ns/default [] Pod u", "ns/default [] Pod u", "ns/default [vault] Pod u"}, i.asked)
	require.Equal(t, "token-4 <nil>", i.get(810*time.Second, "", 10*24*3600))
	require.Equal(t, "token-4 <nil>", i.get(24*time.Hour, "", 10*24*3600))
	require.Equal(t, "token-5 <nil>", i.get(25*time.Hour, "", 10*24*3600))
}

// VC-18: the old token is used until it has expired.
func TestToken_VC18_TheServerFails(t *testing.T) {
	i := newIssuer(t)
	require.Equal(t, "token-1 <nil>", i.get(0, "", 1000))
	i.err = errors.New("down")
	require.Equal(t, "token-1 <nil>", i.get(900*time.Second, "", 1000))
	require.Len(t, i.asked, 2)
	require.Equal(t, " objects: service account ns/default: down", i.get(1001*time.Second, "", 1000))
	require.Equal(t, " objects: service account ns/default: down", i.get(1002*time.Second, "", 1000))
	require.Len(t, i.asked, 3, "not at once again")
	i.err = nil
	require.Equal(t, "token-4 <nil>", i.get(1100*time.Second, "", 1000))
}

// A server that grants an empty token has failed: it is asked again after a pause.
func TestToken_Empty(t *testing.T) {
	i := newIssuer(t)
	i.empty = true
	require.Equal(t, " objects: service account ns/default: the server has granted an empty token", i.get(0, "", 1000))
	require.Len(t, i.asked, 1)
	i.empty = false
	require.Equal(t, "token-2 <nil>", i.get(5*time.Second, "", 1000))
	i.empty = true
	require.Equal(t, "token-2 <nil>", i.get(900*time.Second, "", 1000))
}

// NA-3: a server learns of a pod a moment after it was bound. Until then it is asked again,
// and for good after six refusals.
func TestToken_NA3_TheServerDoesNotKnowThePodYet(t *testing.T) {
	i := newIssuer(t)
	i.err = apierrors.NewNotFound(v1.Resource("pods"), "web")
	answer := ""
	i.process.Go(func() {
		token, err := i.source.Token(context.Background(), pod, "", 1000)
		answer = fmt.Sprint(token, " ", err)
	})
	i.RunUntil(start.Add(300 * time.Millisecond))
	require.Len(t, i.asked, 2)
	require.Empty(t, answer)
	i.err = nil
	i.RunUntil(start.Add(450 * time.Millisecond))
	require.Equal(t, "token-3 <nil>", answer)

	i.err = apierrors.NewForbidden(v1.Resource("pods"), "web", nil)
	i.get(time.Minute, "vault", 1000)
	i.RunUntil(start.Add(time.Minute + 3*time.Second))
	require.Len(t, i.asked, 9)
	require.Contains(t, i.get(time.Minute+3*time.Second, "vault", 1000), "is forbidden")
}

// Several that ask at once make one request; a pod that is forgotten meanwhile gets one too.
func TestToken_OneRequest(t *testing.T) {
	i := newIssuer(t)
	var got []string
	for range 3 {
		i.process.Go(func() {
			token, _ := i.source.Token(context.Background(), pod, "", 1000)
			got = append(got, token)
		})
	}
	i.RunUntil(start.Add(time.Second))
	require.Equal(t, []string{"token-1", "token-1", "token-1"}, got)
	i.process.Go(func() { _, _ = i.source.Token(context.Background(), pod, "x", 1000) })
	i.RunUntil(start.Add(time.Second + 50*time.Millisecond))
	i.source.Forget("u")
	i.RunUntil(start.Add(3 * time.Second))
	require.Zero(t, i.process.Running())
	ctx, cancel := executor.WithCancel(context.Background())
	i.process.Go(func() { _, err := i.source.Token(ctx, pod, "y", 1000); require.Error(t, err) })
	i.RunUntil(start.Add(3*time.Second + 50*time.Millisecond))
	cancel()
	i.RunUntil(start.Add(4 * time.Second))
	require.Zero(t, i.process.Running())
}

// VC-17, VC-23: Run replaces a token when it is due, without any call of Token, also with a server
// whose clock is off by an hour. A pod that was forgotten gets none.
func TestRun_VC17_VC23_ReplacesInTime(t *testing.T) {
	for _, skew := range []time.Duration{0, time.Hour, -time.Hour} {
		i := newIssuer(t)
		i.skew, i.jitter = skew, 0.5
		ctx, cancel := executor.WithCancel(context.Background())
		i.process.Go(func() { _ = i.source.Run(ctx) })
		require.Equal(t, "token-1 <nil>", i.get(0, "", 3000))
		require.Equal(t, "token-2 <nil>", i.get(time.Second, "vault", 100*3600))
		i.RunUntil(start.Add(2 * time.Hour))
		require.Equal(t, []string{"u after 39m55.1s", "u after 1h19m50.1s", "u after 1h59m45.1s"}, i.changed)
		require.Equal(t, "token-5 <nil>", i.get(2*time.Hour, "", 3000))
		require.Equal(t, "token-2 <nil>", i.get(2*time.Hour+time.Second, "vault", 100*3600))
		i.RunUntil(start.Add(25 * time.Hour))
		require.Len(t, i.changed, 37+1, "one replacement after 24 h of the long-lived token")
		require.ErrorIs(t, i.source.Run(ctx), runtime.ErrSecondRun)
		i.source.Forget("u")
		i.changed = nil
		i.RunUntil(start.Add(50 * time.Hour))
		require.Empty(t, i.changed)
		cancel()
		i.RunUntil(start.Add(51 * time.Hour))
		require.Zero(t, i.process.Running())
	}
}

// VC-18: Run repeats a request that fails, at most every 30 s, and replaces the token then.
func TestRun_VC18_TheServerFails(t *testing.T) {
	i := newIssuer(t)
	ctx, cancel := executor.WithCancel(context.Background())
	i.process.Go(func() { _ = i.source.Run(ctx) })
	require.Equal(t, "token-1 <nil>", i.get(0, "", 1000))
	i.err = errors.New("down")
	i.RunUntil(start.Add(990 * time.Second))
	require.Len(t, i.asked, 1+11)
	require.Equal(t, "token-1 <nil>", i.get(991*time.Second, "", 1000))
	i.err = nil
	i.RunUntil(start.Add(20 * time.Minute))
	require.Equal(t, []string{"u after 16m52.2s"}, i.changed)
	require.Equal(t, "token-13 <nil>", i.get(20*time.Minute, "", 1000))
	cancel()
	i.RunUntil(start.Add(time.Hour))
	require.Zero(t, i.process.Running())
}

// A pod is forgotten during a request for its token, and then created again. The late response does not count for
// the new request.
func TestToken_ForgottenAndBack(t *testing.T) {
	i := newIssuer(t)
	var got []string
	ask := func() {
		i.process.Go(func() {
			token, err := i.source.Token(context.Background(), pod, "", 1000)
			got = append(got, fmt.Sprint(token, " ", err))
		})
	}
	ask()
	i.RunUntil(start.Add(50 * time.Millisecond))
	i.source.Forget("u")
	ask()
	i.RunUntil(start.Add(120 * time.Millisecond))
	require.Empty(t, got, "the old request is over, the new one is not")
	i.RunUntil(start.Add(time.Second))
	require.Equal(t, []string{"token-2 <nil>", "token-2 <nil>"}, got)
	require.Zero(t, i.process.Running())
}

// The first answer of any call ends the pauses: the token is asked for at once.
func TestRetry(t *testing.T) {
	i := newIssuer(t)
	ctx, cancel := executor.WithCancel(context.Background())
	i.process.Go(func() { _ = i.source.Run(ctx) })
	require.Equal(t, "token-1 <nil>", i.get(0, "", 1000))
	i.err = errors.New("down")
	require.Contains(t, i.get(time.Second, "vault", 1000), "down")
	i.RunUntil(start.Add(900 * time.Second))
	i.err = nil
	asked := len(i.asked)
	i.source.Retry()
	i.RunUntil(start.Add(901 * time.Second))
	require.Len(t, i.asked, asked+1)
	require.Equal(t, []string{"u after 15m0.1s"}, i.changed)
	require.Contains(t, i.get(901*time.Second, "vault", 1000), "token-")
	cancel()
	i.RunUntil(start.Add(time.Hour))
}
