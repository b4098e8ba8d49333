package grpccheck_test

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/prober"
	"github.com/podkeel/podkeel/podworkers/prober/grpccheck"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs a server and returns its port and how to end it.
func serve(t *testing.T, register func(*grpc.Server)) (port int32, stop func()) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := grpc.NewServer()
	register(s)
	ended := make(chan error)
	go func() { ended <- s.Serve(l) }()
	return int32(l.Addr().(*net.TCPAddr).Port), func() { s.Stop(); require.NoError(t, <-ended) }
}

func ask(ctx context.Context, port int32, service string) (prober.CheckResult, string, error) {
	return grpccheck.New(grpccheck.Config{}).Check(ctx, prober.Request{
		PodIP: "127.0.0.1", Handler: &v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: port, Service: &service}},
	})
}

func TestCheck(t *testing.T) {
	h := health.NewServer()
	h.SetServingStatus("sick", healthpb.HealthCheckResponse_NOT_SERVING)
	port, stop := serve(t, func(s *grpc.Server) { healthpb.RegisterHealthServer(s, h) })
	for service, want := range map[string]prober.CheckResult{"": prober.Passed, "sick": prober.Failed, "unknown": prober.Failed} {
		outcome, message, err := ask(t.Context(), port, service)
		require.NoError(t, err)
		assert.Equal(t, want, outcome, message)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := ask(ended, port, "")
	assert.ErrorIs(t, err, context.Canceled)
	stop()
	outcome, _, err := ask(t.Context(), port, "")
	require.NoError(t, err)
	assert.Equal(t, prober.Failed, outcome, "nobody answers")

	port, stop = serve(t, func(*grpc.Server) {})
	outcome, _, err = ask(t.Context(), port, "")
	require.NoError(t, err)
	assert.Equal(t, prober.Failed, outcome, "a server without the service")
	stop()
}

func TestCheck_F26_Errors(t *testing.T) {
	_, _, err := ask(t.Context(), 0, "")
	assert.ErrorIs(t, err, grpccheck.ErrPort)
	c := grpccheck.New(grpccheck.Config{})
	_, _, err = c.Check(t.Context(), prober.Request{})
	assert.ErrorIs(t, err, grpccheck.ErrNoHandler)
	_, _, err = c.Check(t.Context(), prober.Request{Handler: &v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: 1}}})
	assert.ErrorIs(t, err, grpccheck.ErrNoAddress)
}
