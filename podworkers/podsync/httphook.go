package podsync

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/podkeel/podkeel/internal/podhttp"
	"github.com/podkeel/podkeel/runtime"
)

// get makes the request of a hook.
func (s *Syncer) get(ctx context.Context, v *syncPass, h hook) error {
	if s.cfg.HTTP == nil {
		return &hookFailure{"hooks by HTTP are not configured", runtime.ErrUnsupported}
	}
	address, err := s.hookURL(v, h)
	if err != nil {
		return &hookFailure{text: err.Error()}
	}
	header := make(http.Header)
	for _, given := range h.handler.HTTPGet.HTTPHeaders {
		header.Add(given.Name, given.Value)
	}
	if err := s.cfg.HTTP.Get(ctx, address, header); err != nil {
		return &hookFailure{"its request got no answer", err}
	}
	return nil
}

// hookURL is where a hook knocks: the host that it names, or the pod. Its error
// is for everybody.
func (s *Syncer) hookURL(v *syncPass, h hook) (string, error) {
	get := h.handler.HTTPGet
	host := get.Host
	if host == "" {
		host = s.podIP(v, h.id)
	}
	if host == "" {
		return "", errors.New("the pod has no address")
	}
	port, ok := podhttp.Port(get.Port, h.ports)
	if !ok {
		return "", fmt.Errorf("the container has no port %s", get.Port.String())
	}
	target, err := podhttp.Target(get.Scheme, host, port, get.Path)
	if err != nil {
		return "", errors.New("its path cannot be read")
	}
	return target.String(), nil
}

// podIP is the address of a container's sandbox, or empty.
func (s *Syncer) podIP(v *syncPass, containerID string) string {
	rec := v.record(containerID)
	for i := range v.status.Sandboxes {
		sandbox := &v.status.Sandboxes[i]
		if rec == nil || sandbox.ID != rec.SandboxID {
			continue
		}
		addresses := sandbox.IPs
		if sandbox.HostNetwork {
			addresses = s.hostIPs()
		}
		if len(addresses) > 0 {
			return addresses[0]
		}
	}
	return ""
}
