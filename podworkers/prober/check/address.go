package check

import (
	"fmt"
	"net"
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podkeel/podkeel/podworkers/prober"
)

// address is where a probe knocks: the host it names, or the pod's.
func address(req prober.Request, host string, port intstr.IntOrString) (string, error) {
	if host == "" {
		host = req.PodIP
	}
	if host == "" {
		return "", ErrNoAddress
	}
	number, err := portNumber(req, port)
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(host, strconv.Itoa(number)), nil
}

// portNumber finds a port by number, by the name that the container gives it, or
// by a number written as text.
func portNumber(req prober.Request, port intstr.IntOrString) (int, error) {
	number := int(port.IntVal)
	if port.Type == intstr.String {
		for i := range req.Ports {
			if req.Ports[i].Name == port.StrVal {
				return valid(int(req.Ports[i].ContainerPort), port)
			}
		}
		var err error
		if number, err = strconv.Atoi(port.StrVal); err != nil {
			return 0, fmt.Errorf("%w: container %q has none called %q", ErrPort, req.Container, port.StrVal)
		}
	}
	return valid(number, port)
}

func valid(number int, port intstr.IntOrString) (int, error) {
	if number < 1 || number > 65535 {
		return 0, fmt.Errorf("%w: %s", ErrPort, port.String())
	}
	return number, nil
}
