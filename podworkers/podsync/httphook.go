package podsync

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/podkeel/podkeel/internal/podhttp"
	"github.com/podkeel/podkeel/runtime"
)

// getHTTP makes the HTTP request of the hook.
func (h hook) getHTTP(ctx context.Context) error {
	if h.cfg.HTTP == nil {
		return &hookFailure{"hooks by HTTP are not configured", runtime.ErrUnsupported}
	}
	address, err := h.url()
	if err != nil {
		return &hookFailure{text: err.Error()}
	}
	header := make(http.Header)
	for _, given := range h.handler.HTTPGet.HTTPHeaders {
		header.Add(given.Name, given.Value)
	}
	if err := h.cfg.HTTP.Get(ctx, address, header); err != nil {
		return &hookFailure{"its request got no answer", err}
	}
	return nil
}

// url returns the URL of the hook: at the host that the hook names, or at the pod. Its error is safe
// to publish.
func (h hook) url() (string, error) {
	get := h.handler.HTTPGet
	host := get.Host
	if host == "" {
		host = h.podIP()
	}
	if host == "" {
		return "", errors.New("the pod has no address")
	}
	port, ok := podhttp.ResolvePort(get.Port, h.ports)
	if !ok {
		return "", fmt.Errorf("the container has no port %s", get.Port.String())
	}
	target, err := podhttp.Target(get.Scheme, host, port, get.Path)
	if err != nil {
		return "", errors.New("its path cannot be read")
	}
	return target.String(), nil
}

// podIP returns the first address of the sandbox in which the container of the hook is. It returns
// the empty string if there is none.
func (h hook) podIP() string {
	rec := h.containerRecord(h.id)
	for i := range h.status.Sandboxes {
		sandbox := &h.status.Sandboxes[i]
		if rec == nil || sandbox.ID != rec.SandboxID {
			continue
		}
		addresses := sandbox.IPs
		if sandbox.HostNetwork {
			addresses = h.hostIPs()
		}
		if len(addresses) > 0 {
			return addresses[0]
		}
	}
	return ""
}
