package check

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podkeel/podkeel/internal/podhttp"
	"github.com/podkeel/podkeel/podworkers/prober"
)

// address is the host and the port of a probe: those that it names, or the pod's.
func address(req prober.Request, host string, port intstr.IntOrString) (string, int, error) {
	if host == "" {
		host = req.PodIP
	}
	if host == "" {
		return "", 0, ErrNoAddress
	}
	number, ok := podhttp.Port(port, req.Ports)
	switch {
	case ok:
		return host, number, nil
	case port.Type == intstr.String && number == 0 && port.StrVal != "0":
		return "", 0, fmt.Errorf("%w: container %q has none called %q", ErrPort, req.Container, port.StrVal)
	}
	return "", 0, fmt.Errorf("%w: %s", ErrPort, port.String())
}
