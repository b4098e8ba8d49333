package podsync

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/podkeel/podkeel/internal/podhttp"
	"github.com/podkeel/podkeel/runtime"
)

// sendHTTPGet sends the HTTP GET request of the hook. Any response is a success, whatever its status code. It
// returns a *hookFailure if Config.HTTP is not set, the URL cannot be built, or no response arrives.
func (h hook) sendHTTPGet(ctx context.Context) error {
	if h.cfg.HTTP == nil {
		return &hookFailure{"hooks by HTTP are not configured", runtime.ErrUnsupported}
	}
	address, err := h.requestURL()
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

// requestURL returns the URL of an HTTP hook. The host is the host of the hook or, if that is empty, the
// address of the pod. The error contains no secret and may be published.
func (h hook) requestURL() (string, error) {
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

// podIP returns the first address of the sandbox in which the container of the hook runs. If the sandbox uses
// the host network, it returns the first address of the node. It returns "" if there is no address.
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
