package main

import (
	"context"
	"net"
	"net/netip"
	"os"
	goruntime "runtime"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// system is what the node says of the machine; what cannot be read stays empty. Another boot
// is an event of the node.
func system() (info v1.NodeSystemInfo) {
	for path, into := range map[string]*string{
		"/proc/sys/kernel/random/boot_id": &info.BootID, "/proc/sys/kernel/osrelease": &info.KernelVersion,
		"/etc/machine-id": &info.MachineID, "/sys/class/dmi/id/product_uuid": &info.SystemUUID,
	} {
		text, _ := os.ReadFile(path)
		*into = strings.TrimSpace(string(text))
	}
	text, _ := os.ReadFile("/etc/os-release")
	info.OSImage = strings.Trim(valueOf(string(text), "PRETTY_NAME="), `"`)
	return info
}

// capacity is what the machine has: its processors, and its memory or 8Gi.
func capacity() v1.ResourceList {
	memory := resource.MustParse("8Gi")
	text, _ := os.ReadFile("/proc/meminfo")
	if kib, err := strconv.ParseInt(strings.TrimSuffix(valueOf(string(text), "MemTotal:"), " kB"), 10, 64); err == nil {
		memory = *resource.NewQuantity(kib<<10, resource.BinarySI)
	}
	return v1.ResourceList{v1.ResourceCPU: *resource.NewQuantity(int64(goruntime.NumCPU()), resource.DecimalSI), v1.ResourceMemory: memory}
}

// valueOf is the rest of the line that begins with key; empty if there is none.
func valueOf(text, key string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, key); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// router knows the address from which the API server is reached.
type router interface {
	LocalAddress(ctx context.Context) (netip.Addr, error)
}

// localIPs are the addresses of a node that has been given none: the one from which the machine
// reaches the API server. If that runs on the machine itself, it is the first one that others can
// reach.
func localIPs(ctx context.Context, server router, interfaces func() ([]net.Addr, error)) []string {
	if ip, err := server.LocalAddress(ctx); err == nil && !ip.IsLoopback() {
		return []string{ip.String()}
	}
	addresses, _ := interfaces()
	for _, address := range addresses {
		if prefix, err := netip.ParsePrefix(address.String()); err == nil && prefix.Addr().IsGlobalUnicast() {
			return []string{prefix.Addr().String()}
		}
	}
	return nil
}
