// Stands for the programs of a Visitors Site on the node of the tests: each listens where the real one does, answers its
// probes, and ends when it is told to. Which one it is, its name says, as with the real ones.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	end := make(chan os.Signal, 1)
	// The first process of a container gets no signal that it has not asked for.
	signal.Notify(end, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT)
	switch name := filepath.Base(os.Args[0]); name {
	case "nginx":
		frontend()
	case "php":
		if !slices.Contains(os.Args, "-S") {
			fmt.Println("there is nothing to migrate")
			return
		}
		backend()
	case "mysqld":
		database()
	case "mysqladmin":
		connection, err := net.DialTimeout("tcp", "127.0.0.1:3306", time.Second)
		check(err)
		connection.Close()
		return
	case "get":
		get(os.Args[1], os.Args[2:])
		return
	case "pause":
	default:
		check(fmt.Errorf("%s is no program of the site", name))
	}
	<-end
}

// frontend serves the page that the chart mounts.
func frontend() {
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir("/usr/share/nginx/html")))
	mux.HandleFunc("/healthz", ok)
	serve(mux)
}

// backend answers as the chart's program does, without a database. It writes what no program should, and what it is asked for.
func backend() {
	fmt.Printf("listening, as %s: %s\n", os.Getenv("DATABASE_PASSWORD"), "<script>alert(1)</script> \x1b[31m")
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", ok)
	mux.HandleFunc("/readyz", ok)
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "" {
			fmt.Println("asked for", r.URL.RawQuery)
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]string{"servedBy": os.Getenv("POD_NAME")})
	})
	serve(mux)
}

func database() {
	listener, err := net.Listen("tcp", ":3306")
	check(err)
	go func() {
		for {
			connection, err := listener.Accept()
			check(err)
			connection.Close()
		}
	}()
}

// get prints the page at a URL, or fails. It is asked for with these headers, as `Name: value`.
func get(url string, headers []string) {
	client := http.Client{Timeout: time.Second}
	request, err := http.NewRequest(http.MethodGet, url, nil)
	check(err)
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	// Of this one, the client has its own.
	request.Host = request.Header.Get("Host")
	response, err := client.Do(request)
	check(err)
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		check(fmt.Errorf("%s: %s", url, response.Status))
	}
	_, err = io.Copy(os.Stdout, response.Body)
	check(err)
}

func serve(handler http.Handler) {
	listener, err := net.Listen("tcp", ":8080")
	check(err)
	go func() { check(http.Serve(listener, handler)) }()
}

func ok(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") }

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
