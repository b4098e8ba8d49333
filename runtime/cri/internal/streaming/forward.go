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

// Forward connects conn with a port until both directions have ended or one has failed, and closes
// conn.
func Forward(ctx context.Context, dial Dial, address string, port uint16, conn io.ReadWriteCloser) error {
	shut := sync.OnceFunc(func() { _ = conn.Close() }) // Nothing more is read or written.
	defer shut()
	c, err := dialAndUpgrade(ctx, dial, address, portforward.PortForwardV1Name)
	if err != nil {
		return err
	}
	defer c.closeNow()
	defer context.AfterFunc(ctx, func() { c.closeNow(); shut() })()
	opened, err := c.openStreams(ctx, []http.Header{portForwardHeaders(v1.StreamTypeError, port), portForwardHeaders(v1.StreamTypeData, port)})
	if err != nil {
		return err
	}
	why, err := copyUntilServerEndsAndClose(c, opened[0], opened[1], conn, shut)
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

// portForwardHeaders returns the headers that open a data or error stream for a port. The request ID is always
// 0, because each connection carries only one request.
func portForwardHeaders(kind string, port uint16) http.Header {
	h := http.Header{}
	h.Set(v1.StreamType, kind)
	h.Set(v1.PortHeader, strconv.Itoa(int(port)))
	h.Set(v1.PortForwardRequestIDHeader, "0")
	return h
}

// copyUntilServerEndsAndClose copies data between conn and the data stream until the server ends the data
// stream. It then calls closeConn and closes the connection to the server. It returns the text that the server
// wrote to the error stream.
func copyUntilServerEndsAndClose(c *connection, errorStream, dataStream httpstream.Stream, conn io.ReadWriter, closeConn func()) (why []byte, err error) {
	_ = errorStream.Close() // Only the server writes to it.
	var others sync.WaitGroup
	others.Go(func() {
		if _, err := io.Copy(dataStream, conn); err != nil {
			_ = dataStream.Reset() // The data is incomplete.
			return
		}
		_ = dataStream.Close()
	})
	_, err = io.Copy(conn, dataStream)
	if err != nil {
		c.closeNow() // The rest cannot be delivered.
	}
	why, readErr := readAllLimited(errorStream)
	closeConn()
	c.closeNow()
	others.Wait()
	return why, errors.Join(err, readErr)
}
