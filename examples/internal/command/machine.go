package command

import (
	"os"
	goruntime "runtime"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// System is what the node says of the machine; what cannot be read stays empty. Another boot
// is an event of the node.
func System() (info v1.NodeSystemInfo) {
	for path, into := range map[string]*string{
		"/proc/sys/kernel/random/boot_id": &info.BootID, "/proc/sys/kernel/osrelease": &info.KernelVersion,
		"/etc/machine-id": &info.MachineID, "/sys/class/dmi/id/product_uuid": &info.SystemUUID,
	} {
		text, _ := os.ReadFile(path)
		*into = strings.TrimSpace(string(text))
	}
	text, _ := os.ReadFile("/etc/os-release")
	info.OSImage = strings.Trim(ValueOf(string(text), "PRETTY_NAME="), `"`)
	return info
}

// Capacity is what the machine has: its processors, and its memory or 8Gi.
func Capacity() v1.ResourceList {
	memory := resource.MustParse("8Gi")
	text, _ := os.ReadFile("/proc/meminfo")
	if kib, err := strconv.ParseInt(strings.TrimSuffix(ValueOf(string(text), "MemTotal:"), " kB"), 10, 64); err == nil {
		memory = *resource.NewQuantity(kib<<10, resource.BinarySI)
	}
	return v1.ResourceList{v1.ResourceCPU: *resource.NewQuantity(int64(goruntime.NumCPU()), resource.DecimalSI), v1.ResourceMemory: memory}
}

// ValueOf is the rest of the line that begins with key; empty if there is none.
func ValueOf(text, key string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, key); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
