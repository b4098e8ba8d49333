package apiservertest

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/podkeel/podkeel/internal/executor"
)

// pendingCall is the context of one request. The caller's context or the loss of the connection cancels it.
type pendingCall struct {
	executor.Context
	request *Request
	fault   *activeFault
}

// doRequest performs a request of the client's node and returns the response. The server records the request,
// applies a fault that matches it, and executes it by calling do under its lock.
func doRequest[T any](ctx context.Context, c *Client, r Request, do func() (T, error)) (T, error) {
	var out, none T
	err := c.s.serveRequest(ctx, c.node, r, func() (err error) {
		out, err = do()
		return err
	})
	if err != nil {
		return none, err // A late execution may still write to out.
	}
	return out, nil
}

// serveRequest performs a request of a node: it records the request, applies its fault, executes do, and
// records whether the request has failed without a response. A server that is down returns a refused connection
// and records nothing.
func (s *Server) serveRequest(ctx context.Context, node string, r Request, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.Node, r.Time = node, s.executor.Now()
	c := &pendingCall{request: &r}
	c.Init(ctx)
	defer c.Cancel(nil)
	if err := s.recordRequestAndChooseFault(c); err != nil {
		return errors.Join(s.executor.Sleep(ctx, 0), err)
	}
	err := s.executeWithFault(c, do)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.calls = slices.DeleteFunc(s.mu.calls, func(o *pendingCall) bool { return o == c })
	c.request.Failed = err != nil && apierrors.ReasonForError(err) == ""
	return err
}

// recordRequestAndChooseFault records a request and the API call to which it belongs, and chooses the fault of
// that call. If the server is down, it only returns the error of a refused connection.
func (s *Server) recordRequestAndChooseFault(c *pendingCall) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.down {
		return errRefused()
	}
	s.mu.requests = append(s.mu.requests, c.request)
	s.mu.calls = append(s.mu.calls, c)
	c.fault = s.chooseAndCountFaultLocked(c.request)
	return nil
}

// executeWithFault executes the request. Before, it waits for the latency of its fault, while the server is
// frozen, and, for a fault that hangs, until the fault is removed. If the caller gives up during a wait, a
// fault with Late makes the server execute the request when the test removes a fault. The fault can also
// replace the execution by an error, or replace only the response.
func (s *Server) executeWithFault(c *pendingCall, do func() error) error {
	f := c.fault
	err := s.executor.Sleep(c, f.Latency)
	if err == nil {
		err = s.waitForThaw(c)
	}
	if err == nil && f.Hang {
		err = f.cleared.Wait(c)
	}
	if err != nil {
		if f.Late {
			s.executeWhenFaultCleared(c, do)
		}
		return err
	}
	if f.Err != nil && !f.Lost {
		s.mu.Lock()
		defer s.mu.Unlock()
		c.request.setResponse(f.Err)
		return f.Err
	}
	err = s.executeAndSetResponse(c, do)
	if cut := s.executor.Sleep(c, 0); cut != nil {
		return cut
	}
	if f.Lost {
		return f.lostResponseError()
	}
	return err
}

// executeAndSetResponse calls do under the lock and records the response in the request.
func (s *Server) executeAndSetResponse(c *pendingCall, do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := do()
	c.request.setResponse(err)
	return err
}

// waitForThaw waits until the server is not frozen or the request is canceled.
func (s *Server) waitForThaw(c *pendingCall) error {
	s.mu.Lock()
	frozen := s.mu.frozen
	s.mu.Unlock()
	if frozen == nil {
		return nil
	}
	return frozen.Wait(c)
}

// executeWhenFaultCleared makes the server execute the request of a canceled caller later, when the test
// removes a fault.
func (s *Server) executeWhenFaultCleared(c *pendingCall, do func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.late = append(s.mu.late, func() { c.request.setResponse(do()) })
}
