package check

import (
	"context"
	"net"
	"strconv"

	"github.com/podkeel/podkeel/podworkers/prober"
)

// connect makes a connection and closes it: that it can be made is a success.
func (c *Checker) connect(ctx context.Context, req prober.Request) (prober.Outcome, string, error) {
	probe := req.Handler.TCPSocket
	host, port, err := address(req, probe.Host, probe.Port)
	if err != nil {
		return 0, "", err
	}
	address := net.JoinHostPort(host, strconv.Itoa(port))
	conn, err := c.dial(ctx, "tcp", address)
	if err != nil {
		return answerOf(ctx, err)
	}
	_ = conn.Close()
	return prober.Passed, "connected to " + address, nil
}

// answerOf turns the error of a connection into an answer: nobody answers there,
// unless it is our context that has ended.
func answerOf(ctx context.Context, err error) (prober.Outcome, string, error) {
	if ctx.Err() != nil {
		return 0, "", ctx.Err()
	}
	return prober.Failed, err.Error(), nil
}
