// Preloaded into a gateway (LD_PRELOAD) it stands between SQLite and the disk, and cuts the power: after as many writes as
// CUT_AFTER says, what was written to the database and its write-ahead log since their last fsync is taken back, but for
// a random part of its sectors, and the process ends. What was synced stays. Only tracks files of which the path begins
// with CUT_PREFIX.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FDS 4096
#define SECTOR 512
#define CUT_STATUS 86

typedef struct Change {
  struct Change *earlier;
  off_t at;
  size_t size;        // of what was written; 0 for a change of the length alone
  off_t length;       // of the file before
  off_t newLength;    // that it was given, when it was the length alone that changed
  size_t oldSize;     // how much of the old content there was
  char *old;
  char *new;
} Change;

typedef struct File {
  struct File *next;
  dev_t device;
  ino_t inode;
  int fd;             // one of its own, which stays open
  Change *latest;     // since the last sync, the latest first
} File;

static File *files;
static File *fileOf[MAX_FDS];
static long writesLeft = -1;
static const char *prefix;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int (*realOpen)(const char *, int, ...);
static ssize_t (*realPwrite)(int, const void *, size_t, off_t);
static ssize_t (*realWrite)(int, const void *, size_t);
static int (*realTruncate)(int, off_t);
static int (*realSync)(int);
static int (*realDataSync)(int);
static int (*realClose)(int);

__attribute__((constructor)) static void begin(void) {
  if (realClose) return;
  realOpen = dlsym(RTLD_NEXT, "open64");
  realPwrite = dlsym(RTLD_NEXT, "pwrite64");
  realWrite = dlsym(RTLD_NEXT, "write");
  realTruncate = dlsym(RTLD_NEXT, "ftruncate64");
  realSync = dlsym(RTLD_NEXT, "fsync");
  realDataSync = dlsym(RTLD_NEXT, "fdatasync");
  prefix = getenv("CUT_PREFIX");
  const char *after = getenv("CUT_AFTER");
  if (after) writesLeft = atol(after);
  const char *seed = getenv("CUT_SEED");
  srandom(seed ? (unsigned)atol(seed) : 1);
  realClose = dlsym(RTLD_NEXT, "close");
}

static void track(const char *path, int fd) {
  if (!prefix || fd < 0 || fd >= MAX_FDS || strncmp(path, prefix, strlen(prefix)) != 0) return;
  size_t length = strlen(path);
  if (length > 4 && strcmp(path + length - 4, "-shm") == 0) return; // it is made anew after a crash
  struct stat found;
  if (fstat(fd, &found) != 0 || !S_ISREG(found.st_mode)) return;
  pthread_mutex_lock(&lock);
  File *file = files;
  while (file && (file->device != found.st_dev || file->inode != found.st_ino)) file = file->next;
  if (!file && (file = calloc(1, sizeof(File)))) {
    *file = (File){files, found.st_dev, found.st_ino, realOpen(path, O_RDWR | O_CLOEXEC), NULL};
    files = file;
  }
  fileOf[fd] = file;
  pthread_mutex_unlock(&lock);
}

static File *tracked(int fd) { return fd >= 0 && fd < MAX_FDS ? fileOf[fd] : NULL; }

static off_t lengthOf(File *file) {
  struct stat found;
  return fstat(file->fd, &found) == 0 ? found.st_size : 0;
}

static void forget(File *file) {
  while (file->latest) {
    Change *change = file->latest;
    file->latest = change->earlier;
    free(change->old);
    free(change->new);
    free(change);
  }
}

static void keepSomeSectors(File *file, Change *change) {
  if (!change) return;
  keepSomeSectors(file, change->earlier);
  if (change->size == 0) {
    if (random() % 2) realTruncate(file->fd, change->newLength);
    return;
  }
  for (size_t from = 0; from < change->size; from += SECTOR) {
    size_t size = change->size - from < SECTOR ? change->size - from : SECTOR;
    if (random() % 2) realPwrite(file->fd, change->new + from, size, change->at + (off_t)from);
  }
}

static void cut(void) {
  for (File *file = files; file; file = file->next) {
    for (Change *change = file->latest; change; change = change->earlier) {
      if (change->oldSize) realPwrite(file->fd, change->old, change->oldSize, change->at);
      realTruncate(file->fd, change->length);
    }
    keepSomeSectors(file, file->latest);
  }
  _exit(CUT_STATUS);
}

/** Notes what is about to change, or cuts the power. To be called with the lock held. */
static void note(File *file, const void *data, size_t size, off_t at, off_t newLength) {
  if (writesLeft == 0) cut();
  if (writesLeft > 0) writesLeft--;
  Change *change = calloc(1, sizeof(Change));
  *change = (Change){file->latest, at, size, lengthOf(file), newLength, 0, NULL, NULL};
  off_t end = size ? at + (off_t)size : change->length;
  if (end > change->length) end = change->length;
  if (end > at) {
    change->old = malloc((size_t)(end - at));
    ssize_t had = pread(file->fd, change->old, (size_t)(end - at), at);
    change->oldSize = had > 0 ? (size_t)had : 0;
  }
  if (size) memcpy(change->new = malloc(size), data, size);
  file->latest = change;
}

static int openTracked(const char *path, int flags, mode_t mode) {
  begin(); // other libraries may open files before the constructor ran
  int fd = realOpen(path, flags, mode);
  track(path, fd);
  return fd;
}

#define OPEN(name)                                             \
  int name(const char *path, int flags, ...) {                 \
    va_list more;                                              \
    va_start(more, flags);                                     \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
    va_end(more);                                              \
    return openTracked(path, flags, mode);                     \
  }
OPEN(open)
OPEN(open64)

ssize_t pwrite64(int fd, const void *data, size_t size, off_t at) {
  File *file = tracked(fd);
  if (!file) return realPwrite(fd, data, size, at);
  pthread_mutex_lock(&lock);
  note(file, data, size, at, 0);
  ssize_t written = realPwrite(fd, data, size, at);
  pthread_mutex_unlock(&lock);
  return written;
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return pwrite64(fd, data, size, at); }

ssize_t write(int fd, const void *data, size_t size) {
  File *file = tracked(fd);
  if (!file && !realWrite) begin();
  if (!file) return realWrite(fd, data, size);
  pthread_mutex_lock(&lock);
  note(file, data, size, lseek(fd, 0, SEEK_CUR), 0);
  ssize_t written = realWrite(fd, data, size);
  pthread_mutex_unlock(&lock);
  return written;
}

int ftruncate64(int fd, off_t length) {
  File *file = tracked(fd);
  if (!file) return realTruncate(fd, length);
  pthread_mutex_lock(&lock);
  note(file, NULL, 0, length, length);
  int result = realTruncate(fd, length);
  pthread_mutex_unlock(&lock);
  return result;
}
int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

/** Nothing is sent to the real disk: its power is not cut, and it would only take time. */
static int sync_(int fd, int (*real)(int)) {
  File *file = tracked(fd);
  if (!file) return real(fd);
  pthread_mutex_lock(&lock);
  forget(file);
  pthread_mutex_unlock(&lock);
  return 0;
}
int fsync(int fd) { return sync_(fd, realSync); }
int fdatasync(int fd) { return sync_(fd, realDataSync); }

int close(int fd) {
  begin();
  if (fd >= 0 && fd < MAX_FDS) fileOf[fd] = NULL;
  return realClose(fd);
}
