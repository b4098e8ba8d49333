package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
)

// versionInfo describes the program.
type versionInfo struct {
	Version   string `json:"version"`
	Revision  string `json:"revision,omitempty"`
	Modified  bool   `json:"modified,omitempty"` // the sources had uncommitted changes
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
}

// versionFromBuild returns the version that the Go toolchain has recorded in the program. The version is
// "unknown" if info is nil.
func versionFromBuild(info *debug.BuildInfo) versionInfo {
	v := versionInfo{Version: "unknown", GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return v
	}
	v.Version = cmp.Or(info.Main.Version, v.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// runVersion prints the version as text or JSON, and returns exit code 0.
func runVersion(_ context.Context, r *request, stdout, _ io.Writer) int {
	info, _ := debug.ReadBuildInfo()
	v := versionFromBuild(info)
	if r.output == "json" {
		text, _ := json.MarshalIndent(v, "", "  ") // The struct has only types that JSON supports.
		fmt.Fprintf(stdout, "%s\n", text)
		return exitOK
	}
	revision := v.Revision
	if v.Modified {
		revision += ", modified"
	}
	if revision != "" {
		revision = " (" + revision + ")"
	}
	fmt.Fprintf(stdout, "podkeel agent %s%s, %s, %s\n", v.Version, revision, v.GoVersion, v.Platform)
	return exitOK
}
