package command

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/internal/osfile"
)

// IsAppArmorEnabled reports whether the kernel enforces AppArmor profiles. sys is the mount point of sysfs, /sys. An error
// counts as false.
func IsAppArmorEnabled(sys string) bool {
	if _, err := os.Stat(filepath.Join(sys, "kernel/security/apparmor")); err != nil {
		return false
	}
	enabled, err := os.ReadFile(filepath.Join(sys, "module/apparmor/parameters/enabled"))
	return err == nil && strings.HasPrefix(string(enabled), "Y")
}

// SystemInfo returns facts about the machine for the node status. A fact that cannot be read stays empty. The boot ID
// shows that the machine has restarted.
func SystemInfo() (info v1.NodeSystemInfo) {
	for path, into := range map[string]*string{
		"/proc/sys/kernel/random/boot_id": &info.BootID, "/proc/sys/kernel/osrelease": &info.KernelVersion,
		"/etc/machine-id": &info.MachineID, "/sys/class/dmi/id/product_uuid": &info.SystemUUID,
	} {
		text, _ := os.ReadFile(path)
		*into = strings.TrimSpace(string(text))
	}
	text, _ := os.ReadFile("/etc/os-release")
	info.OSImage = strings.Trim(LineValue(string(text), "PRETTY_NAME="), `"`)
	return info
}

// Capacity returns the number of processors and the memory of the machine. If the memory is unknown it is 8Gi.
func Capacity() v1.ResourceList {
	memory := resource.MustParse("8Gi")
	text, _ := os.ReadFile("/proc/meminfo")
	if kib, err := strconv.ParseInt(strings.TrimSuffix(LineValue(string(text), "MemTotal:"), " kB"), 10, 64); err == nil {
		memory = *resource.NewQuantity(kib<<10, resource.BinarySI)
	}
	return v1.ResourceList{v1.ResourceCPU: *resource.NewQuantity(int64(goruntime.NumCPU()), resource.DecimalSI), v1.ResourceMemory: memory}
}

// CapacityWithDisk returns the capacity of the machine, with its huge pages of each size. Its ephemeral storage is the
// size of the file system that contains root. It has no ephemeral storage if the system does not report that size.
func CapacityWithDisk(root string) v1.ResourceList {
	all := Capacity()
	maps.Copy(all, HugePages())
	if bytes, ok := diskSize(root); ok {
		all[v1.ResourceEphemeralStorage] = *resource.NewQuantity(bytes, resource.BinarySI)
	}
	return all
}

// diskSize returns the size of the file system that contains a directory. If the directory does not exist yet,
// it uses the nearest parent that exists. ok is false if the system does not report the size.
func diskSize(dir string) (bytes int64, ok bool) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return 0, false
	}
	for {
		if size, _, ok := osfile.Capacity(dir); ok && size <= math.MaxInt64 {
			return int64(size), true
		}
		above := filepath.Dir(dir)
		if above == dir {
			return 0, false
		}
		dir = above
	}
}

// hugePagesDir has a directory for each size of huge pages that the machine supports.
const hugePagesDir = "/sys/kernel/mm/hugepages"

// HugePages returns the memory of the machine in huge pages by resource name, for example hugepages-2Mi. A size that
// has no pages is 0. It is empty on a system without huge pages.
func HugePages() v1.ResourceList { return hugePagesIn(hugePagesDir) }

// hugePagesIn returns the memory in huge pages of the sizes that have a directory in dir, for example
// "hugepages-2048kB" with the file nr_hugepages. It leaves out a size whose directory or file cannot be parsed.
func hugePagesIn(dir string) v1.ResourceList {
	all := v1.ResourceList{}
	entries, _ := os.ReadDir(dir) // No directory means no huge pages.
	for _, entry := range entries {
		size, isSize := strings.CutPrefix(entry.Name(), "hugepages-")
		kib, errSize := strconv.ParseInt(strings.TrimSuffix(size, "kB"), 10, 32)
		text, _ := os.ReadFile(filepath.Join(dir, entry.Name(), "nr_hugepages"))
		pages, errPages := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 32)
		if isSize && errSize == nil && errPages == nil {
			name := v1.ResourceHugePagesPrefix + resource.NewQuantity(kib<<10, resource.BinarySI).String()
			all[v1.ResourceName(name)] = *resource.NewQuantity(pages*kib<<10, resource.BinarySI)
		}
	}
	return all
}

// LineValue returns the rest of the line that begins with key; empty if there is no such line.
func LineValue(text, key string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, key); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
