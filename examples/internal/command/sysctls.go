package command

import (
	"strings"

	"github.com/podkeel/podkeel/syncloop"
	"github.com/podkeel/podkeel/syncloop/node"
)

// UnsafeSysctls holds the sysctls that pods may set beside the safe ones, as a kubelet's flag names them.
type UnsafeSysctls []string

// Set sets the flag --allowed-unsafe-sysctls and replaces an earlier value. An empty text allows none.
func (s *UnsafeSysctls) Set(text string) error {
	var names []string
	if text != "" {
		names = strings.Split(text, ",")
	}
	if _, err := syncloop.AdmitSysctls(names); err != nil {
		return err
	}
	*s = names
	return nil
}

// Configure makes the node reject pods with a sysctl that is neither safe nor allowed, as a kubelet does.
func (s UnsafeSysctls) Configure(c *node.SchedulingConfig) error {
	handler, err := syncloop.AdmitSysctls(s)
	if err == nil {
		c.Admit = append(c.Admit, handler)
	}
	return err
}
