package streaming

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/portforward"
	"k8s.io/streaming/pkg/httpstream"
)

// Forward connects conn with a port, until both ways have ended or one has failed,
// and closes it.
func Forward(ctx context.Context, dial Dial, address string, port uint16, conn io.ReadWriteCloser) error {
	shut := sync.OnceFunc(func() { _ = conn.Close() }) // What it was good for is over.
	defer shut()
	c, err := connect(ctx, dial, address, portforward.PortForwardV1Name)
	if err != nil {
		return err
	}
	defer c.end()
	defer context.AfterFunc(ctx, func() { c.end(); shut() })()
	opened, err := c.streams(ctx, []http.Header{forwarding(v1.StreamTypeError, port), forwarding(v1.StreamTypeData, port)})
	if err != nil {
		return err
	}
	why, err := exchange(c, opened[0], opened[1], conn, shut)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("streaming: %w", ctx.Err())
	case len(why) > 0:
		return fmt.Errorf("streaming: port %d: %.1000q", port, why)
	case err != nil:
		return fmt.Errorf("streaming: port %d: %w", port, err)
	}
	return nil
}

// forwarding are the headers of a stream for the only connection there is.
func forwarding(kind string, port uint16) http.Header {
	h := http.Header{}
	h.Set(v1.StreamType, kind)
	h.Set(v1.PortHeader, strconv.Itoa(int(port)))
	h.Set(v1.PortForwardRequestIDHeader, "0")
	return h
}

// exchange copies both ways, and returns what the server has to complain of when
// both have ended.
func exchange(c *connection, fault, data httpstream.Stream, conn io.ReadWriter, shut func()) (why []byte, err error) {
	_ = fault.Close() // It is the server's to speak on.
	var others sync.WaitGroup
	others.Go(func() {
		if _, err := io.Copy(data, conn); err != nil {
			_ = data.Reset() // What was sent is not whole.
			return
		}
		_ = data.Close()
	})
	_, err = io.Copy(conn, data)
	if err != nil {
		c.end() // Nobody takes the rest.
	}
	why, readErr := said(fault)
	shut()
	c.end()
	others.Wait()
	return why, errors.Join(err, readErr)
}
