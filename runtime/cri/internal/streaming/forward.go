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
	header := func(kind string) http.Header {
		h := http.Header{}
		h.Set(v1.StreamType, kind)
		h.Set(v1.PortHeader, strconv.Itoa(int(port)))
		h.Set(v1.PortForwardRequestIDHeader, "0")
		return h
	}
	opened, err := c.streams(ctx, []http.Header{header(v1.StreamTypeError), header(v1.StreamTypeData)})
	if err != nil {
		return err
	}
	fault, data := opened[0], opened[1]
	_ = fault.Close() // It is the server's to speak on.
	var others sync.WaitGroup
	others.Go(func() {
		_, err := io.Copy(data, conn)
		if err != nil {
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
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("streaming: %w", ctx.Err())
	case len(why) > 0:
		return fmt.Errorf("streaming: port %d: %.1000q", port, why)
	case err != nil || readErr != nil:
		return fmt.Errorf("streaming: port %d: %w", port, errors.Join(err, readErr))
	}
	return nil
}
